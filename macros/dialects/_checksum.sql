{#-
  How two tables are compared without sorting or joining them: hashes of rows, and sums of hashes.
  Both sides are hashed in one database, so a hash only has to be the same for equal values of different types
  (integer and bigint, numeric(10,5) and numeric, varchar and text), not from one engine to another.

  type and other_type are the engine's names of the types that the expression has on its own side and on the other one.
-#}

{# a value as text, the same for equal values whatever their types; NULL stays NULL #}
{% macro comparable_text(expression, type, other_type) %}{{ return(adapter.dispatch('comparable_text', 'two_clocks')(expression, type, other_type)) }}{% endmacro %}

{# a 64-bit hash of a value, mixed with the hash of the values before it (`seed`, or none for the first) #}
{% macro hash_sql(expression, type, other_type, seed=none) %}{{ return(adapter.dispatch('hash_sql', 'two_clocks')(expression, type, other_type, seed)) }}{% endmacro %}

{# the bucket of a hash, 0 to buckets - 1; buckets is a power of two #}
{% macro bucket_sql(hash, buckets) %}{{ return(adapter.dispatch('bucket_sql', 'two_clocks')(hash, buckets)) }}{% endmacro %}

{# an aggregate over hashes that does not depend on their order: an exact sum. Unlike XOR it sees a row that is there twice #}
{% macro checksum_sql(hash) %}{{ return(adapter.dispatch('checksum_sql', 'two_clocks')(hash)) }}{% endmacro %}


{% macro default__comparable_text(expression, type, other_type) %}
  {{ return('cast(' ~ expression ~ ' as ' ~ dbt.type_string() ~ ')') }}
{% endmacro %}

{% macro default__hash_sql(expression, type, other_type, seed) %}
  {% do two_clocks._refuse('comparing tables by checksum is not known for ' ~ adapter.type() ~ ' yet; define ' ~ adapter.type() ~ '__hash_sql, ' ~ adapter.type() ~ '__bucket_sql and ' ~ adapter.type() ~ '__checksum_sql to teach it') %}
{% endmacro %}

{% macro default__bucket_sql(hash, buckets) %}{{ return('mod(abs(' ~ hash ~ '), ' ~ buckets ~ ')') }}{% endmacro %}
{% macro default__checksum_sql(hash) %}{{ return('sum(' ~ hash ~ ')') }}{% endmacro %}


{# collate "C": two columns of different collations can then be joined, and comparing bytes is quicker #}
{% macro postgres__comparable_text(expression, type, other_type) %}
  {% set family, other = two_clocks._postgres_family(type), two_clocks._postgres_family(other_type) %}
  {% if family == 'numeric' %}
    {% set text = 'cast(trim_scale(' ~ expression ~ ') as text)' %}
  {% elif family in ['timestamp', 'timestamptz'] or (family == 'date' and other in ['timestamp', 'timestamptz']) %}
    {% set text = two_clocks.exact_text('cast(' ~ expression ~ ' as timestamp without time zone)' if family == 'date' else expression, 'timestamptz' if family == 'timestamptz' else 'timestamp') %}
  {% elif [family, other] | sort == ['json', 'jsonb'] %}
    {% set text = 'cast(cast(' ~ expression ~ ' as jsonb) as text)' %}
  {% else %}
    {% set text = 'cast(' ~ expression ~ ' as text)' %}
  {% endif %}
  {{ return('(' ~ text ~ ' collate "C")') }}
{% endmacro %}

{% macro _postgres_family(type) %}
  {% set plain = modules.re.sub('\\([^)]*\\)', '', type | string | lower) | trim %}
  {{ return({
    'smallint': 'integer', 'integer': 'integer', 'bigint': 'integer', 'numeric': 'numeric', 'json': 'json', 'jsonb': 'jsonb', 'date': 'date',
    'timestamp without time zone': 'timestamp', 'timestamp with time zone': 'timestamptz'}.get(plain, plain)) }}
{% endmacro %}

{# PostgreSQL's own hash functions, which its hash partitioning leans on: stable between versions of a server #}
{% macro postgres__hash_sql(expression, type, other_type, seed) %}
  {% set family, other = two_clocks._postgres_family(type), two_clocks._postgres_family(other_type) %}
  {% set start = seed or '0' %}
  {% if family == 'integer' and other == 'integer' %}
    {{ return('hashint8extended(cast(' ~ expression ~ ' as bigint), ' ~ start ~ ')') }}
  {% elif family == other and family in ['timestamp', 'timestamptz', 'date'] %}
    {% set plain = "(" ~ expression ~ " at time zone 'UTC')" if family == 'timestamptz' else 'cast(' ~ expression ~ ' as timestamp without time zone)' %}
    {{ return('timestamp_hash_extended(' ~ plain ~ ', ' ~ start ~ ')') }}
  {% endif %}
  {{ return('hashtextextended(' ~ two_clocks.comparable_text(expression, type, other_type) ~ ', ' ~ start ~ ')') }}
{% endmacro %}

{% macro postgres__bucket_sql(hash, buckets) %}{{ return('(' ~ hash ~ ' & ' ~ (buckets - 1) ~ ')') }}{% endmacro %}


{% macro duckdb__comparable_text(expression, type, other_type) %}
  {% set types = [type | string | upper, other_type | string | upper] %}
  {% set text = 'cast(' ~ expression ~ ' as varchar)' %}
  {% if modules.re.match('DECIMAL\\([0-9]+,[1-9]', types[0]) or types[0] in ['DOUBLE', 'FLOAT'] %}
    {{ return("regexp_replace(" ~ text ~ ", '(\\.[0-9]*[1-9])0+$|\\.0+$', '\\1')") }}
  {% elif types[0].startswith('TIMESTAMP WITH') %}
    {{ return(two_clocks.exact_text(expression, 'timestamptz')) }}
  {% elif types[0] == 'DATE' and types[1].startswith('TIMESTAMP') %}
    {{ return('cast(cast(' ~ expression ~ ' as timestamp) as varchar)') }}
  {% endif %}
  {{ return(text) }}
{% endmacro %}

{% macro duckdb__hash_sql(expression, type, other_type, seed) %}
  {% set same = type == other_type and (type | string | upper) not in ['JSON'] %}
  {% set value = expression if same else two_clocks.comparable_text(expression, type, other_type) %}
  {{ return('hash(' ~ value ~ (', ' ~ seed if seed else '') ~ ')') }}
{% endmacro %}

{% macro duckdb__bucket_sql(hash, buckets) %}{{ return('cast(' ~ hash ~ ' % ' ~ buckets ~ ' as integer)') }}{% endmacro %}
