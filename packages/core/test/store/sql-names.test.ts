import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SQL_NAMES, withCodes } from '../../src/store/sql-names.ts';

describe('withCodes', () => {
  test('a name becomes its code, whatever precedes it', () => {
    assert.equal(withCodes('select :waiting, (:claimed), x=:succeeded'), 'select 0, (2), x=10');
    assert.equal(withCodes('v_state := :failed;'), 'v_state := 11;');
    assert.equal(withCodes('state < :runner_terminated::smallint'), 'state < 4::smallint');
    assert.equal(withCodes('state between :failed and :canceled'), 'state between 11 and 14');
  });

  test('the longest name counts', () => {
    assert.equal(withCodes(':runner_claimed, :request_waiting'), '2, 0');
  });

  test('casts and array slices stay as they are', () => {
    for (const sql of ['$1::smallint[]', "'x'::text", '(a + 1)::bigint', 'a[1:2]', 'a[first:last]', 'a[(i):last]'])
      assert.equal(withCodes(sql), sql);
  });

  test('literals, quoted identifiers and comments stay as they are', () => {
    for (const sql of [
      "select ':waiting', 'it''s :waiting'",
      'select "a:waiting"',
      "-- the caller's :waiting\nselect 1",
      "/* don't :waiting\n :unknown */ select 1",
    ])
      assert.equal(withCodes(sql), sql);
    assert.equal(withCodes("select 'a' -- it's\n where state = :paused"), "select 'a' -- it's\n where state = 5");
  });

  test('an unknown name is an error that says where names come from', () => {
    assert.throws(() => withCodes('state = :succeded'), /unknown name :succeded in SQL; store\/sql-names\.ts/);
  });

  test('a name has one code', () => {
    assert.equal(SQL_NAMES.get('terminal'), SQL_NAMES.get('succeeded'));
    assert.equal(SQL_NAMES.get('request_waiting'), 0);
    assert.equal(SQL_NAMES.get('exhausted_uncertain'), 2);
    assert.equal(SQL_NAMES.get('result_stale_attempt'), 5);
  });
});
