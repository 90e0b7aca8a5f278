# expect: not judged
def model(dbt, session):
    dbt.config(materialized="incremental", unique_key="day")
    sales = dbt.ref("silver_sales")
    if dbt.is_incremental:
        newest = session.sql(f"select max(day) from {dbt.this}").collect()[0][0]
        sales = sales.filter(sales.day > newest)
    return sales
