import { expect, test } from "vitest";
import { whyNotSent } from "./statement-wall.ts";

test.each([
  "select 1",
  "SELECT 1;",
  "  \n\tinsert into a values ($1)",
  "update a set b = 1",
  "delete from a",
  "merge into a using b on true when matched then delete",
  "with a as (select 1) insert into b select * from a",
  "values (1)",
  "table a",
  "truncate a",
  "lock table a in share mode",
  "call p()",
  "do $$ begin null; end $$",
  "savepoint a",
  "release savepoint a",
  "rollback to a",
  "ROLLBACK TO SAVEPOINT a",
  "rollback work to savepoint a",
  "rollback transaction to a",
  "rollback /* to the first */ to a",
  "set local work_mem = '1MB'",
  "set constraints all deferred",
  "explain analyze select 1",
  "show server_version",
  "notify a, 'b'",
  "(select 1) union (select 2)",
  "( -- first\n ((select 1)))",
  "-- commit\nselect 1",
  "/* a /* nested */ commit */ select 1",
])("lets %j through", (text) => {
  expect(whyNotSent(text)).toBeUndefined();
});

test.each([
  "begin",
  "BEGIN",
  "start transaction",
  "commit",
  "CoMmIt",
  "end",
  "abort",
  "rollback",
  "rollback;",
  "rollback work",
  "rollback transaction",
  "rollback and chain",
  "prepare transaction 'a'",
  "commit prepared 'a'",
  "rollback prepared 'a'",
  "/* select */ commit",
  "/* a /* nested */ b */commit",
  "-- select\ncommit",
  "-- select\rcommit",
  "\f\v commit",
  "( commit",
])("refuses %j, which would end or leave the transaction, and says what to do", (text) => {
  expect(whyNotSent(text)).toMatch(/which ctx\.transaction does itself: return from the function to commit/);
});

test.each([
  "set statement_timeout = 0",
  "set session authorization a",
  "set session statement_timeout = 0",
  "set transaction isolation level serializable",
  "set role a",
])("refuses %j, which would outlive it", (text) => {
  expect(whyNotSent(text)).toMatch(/write SET LOCAL/);
});

test.each([
  "set local statement_timeout = 0",
  "SET LOCAL lock_timeout TO '1h'",
  "set /* so */ local idle_in_transaction_session_timeout = 0",
  "set local datestyle = 'SQL, DMY'",
  "set local role a",
  "set local session authorization a",
])("refuses %j, on which the engine relies", (text) => {
  expect(whyNotSent(text)).toMatch(/relies on it/);
});

test.each([
  "select 1 into temp a",
  "select 1 into local temporary a",
  "with b as (select 1) select * into pg_temp.a from b",
])("refuses %j, whose table others would meet", (text) => {
  expect(whyNotSent(text)).toMatch(/a temporary table outlives/);
});

test.each([
  "create table a (b int)",
  "drop table a",
  "alter table a add b int",
  "copy a from stdin",
  "listen a",
  "deallocate all",
  "discard all",
  "declare a cursor with hold for select 1",
  "execute a",
  "vacuum",
  "reset all",
  "grant a to b",
  "sélect 1",
])("refuses %j, and says what is let through", (text) => {
  expect(whyNotSent(text)).toMatch(/is not let through .* Let through are SELECT/);
});

test.each(["", "  ", ";", "; commit", "-- nothing", "/* never ends", "$1", "1", '"select" 1', "'commit'"])(
  "refuses %j, which begins with no word",
  (text) => {
    expect(whyNotSent(text)).toBe("there is no statement in it");
  },
);

test("refuses what is no text", () => {
  expect(whyNotSent({ text: "select 1", submit: () => undefined })).toMatch(/a statement is a text/);
});
