-- settings: typed, bounded, and clear about what is wrong.
BEGIN;
SELECT plan(34);

SELECT is(camserver.setting_number('overload_cpu_percent'), 85::numeric, 'a number');
SELECT is(camserver.setting_set('overload_cpu_percent', '80.5'), '85', 'setting tells what was before');
SELECT is(camserver.setting_number('overload_cpu_percent'), 80.5, 'and changes it');
SELECT ok((SELECT updated_at > now() FROM camserver.settings WHERE name = 'overload_cpu_percent'), 'and when');
SELECT lives_ok($$SELECT camserver.setting_set('overload_cpu_percent', '1')$$, 'the least value');
SELECT lives_ok($$SELECT camserver.setting_set('overload_cpu_percent', '100')$$, 'the greatest');
SELECT throws_ok($$SELECT camserver.setting_set('overload_cpu_percent', '100.1')$$, '22023',
    'setting overload_cpu_percent: 100.1 is not between 1 and 100', 'above it');
SELECT throws_ok($$SELECT camserver.setting_set('overload_cpu_percent', '0')$$, '22023',
    'setting overload_cpu_percent: 0 is not between 1 and 100', 'below it');
SELECT throws_ok($$SELECT camserver.setting_set('overload_cpu_percent', '-5')$$, '22023', NULL, 'negative');
SELECT throws_ok(format('SELECT camserver.setting_set(%L, %L)', 'overload_cpu_percent', v), '22023',
    format('setting overload_cpu_percent: "%s" is not a number', v), format('not a number: "%s"', v))
FROM unnest(ARRAY['', 'high', '8O', '1e1', 'NaN', 'Infinity', ' 80', '80 ', '80%', '.5', '5.', '1,5', '0x10', '+80',
    '1234567890123456']) v;
SELECT throws_ok($$SELECT camserver.setting_set('recover_hold_sec', '1.5')$$, '22023',
    'setting recover_hold_sec: "1.5" is not a whole number', 'a fraction where a whole number is asked for');
SELECT throws_ok($$SELECT camserver.setting_set('overload_cpu', '80')$$, '42704', 'there is no setting "overload_cpu"',
    'an unknown name');
SELECT throws_ok($$SELECT camserver.setting_number('overload_cpu')$$, '42704', 'there is no setting "overload_cpu"',
    'is an error to read as well');
SELECT throws_ok($$SELECT camserver.setting_set('overload_cpu_percent', NULL)$$, '23502', NULL, 'no value at all');
SELECT throws_ok($$UPDATE camserver.settings SET value = 'x' WHERE name = 'recover_hold_sec'$$, '22023',
    'setting recover_hold_sec: "x" is not a whole number', 'plain UPDATE is checked, too');
INSERT INTO camserver.settings (name, value, kind, description) VALUES ('t_bool', 'true', 'boolean', 'test'),
    ('t_text', 'x', 'text', 'test');
SELECT throws_ok($$SELECT camserver.setting_set('t_bool', 'yes')$$, '22023',
    'setting t_bool: "yes" is not true or false', 'a boolean is true or false');
SELECT is(camserver.setting_set('t_bool', 'false'), 'true', 'as here');
SELECT is(camserver.setting_set('t_text', 'anything: 1'), 'x', 'a text is anything');
SELECT throws_ok($$INSERT INTO camserver.settings (name, value, kind, description) VALUES ('t_x', '1', 'money',
    'test')$$, '23514', NULL, 'kinds are known words');
SELECT is((SELECT string_agg(name, ', ') FROM camserver.settings WHERE description = '' OR (kind IN ('integer',
    'number') AND (min_value IS NULL OR max_value IS NULL))),
    NULL, 'every number has bounds and every setting a description');

SELECT * FROM finish();
ROLLBACK;
