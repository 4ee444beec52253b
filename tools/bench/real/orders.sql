-- SPDX-License-Identifier: MIT
-- A shop's database in memory: inserts, indexes, joins, groups, text and JSON functions.
-- Run as `sqlite3 -batch :memory: < orders.sql`. Each line of the output is the result of one query
-- and the same in every run.

CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE product (id INTEGER PRIMARY KEY, title TEXT NOT NULL, price INTEGER NOT NULL);
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer,
                       product INTEGER REFERENCES product, amount INTEGER, note TEXT);
CREATE TABLE history (purchase INTEGER, amount_before INTEGER, note_before TEXT);
CREATE TRIGGER amount_changed AFTER UPDATE OF amount ON purchase BEGIN
  INSERT INTO history VALUES (old.id, old.amount, old.note);
END;

-- Multipliers without a common factor with the modulus stand in for random numbers.
BEGIN;
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 5000)
INSERT INTO customer
SELECT i, printf('%s %s', upper(hex(i * 7919 % 65536)), hex(i * 104729)), 'city ' || (i * 31 % 97)
FROM number;
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 2000)
INSERT INTO product
SELECT i, replace(printf('part %05d of set %d', i, i % 40), ' ', '-'), 100 + i * 7907 % 9973
FROM number;
WITH RECURSIVE number(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < 100000)
INSERT INTO purchase
SELECT i, 1 + i * 7919 % 5000, 1 + i * 6007 % 2000, 1 + i * 13 % 9,
       printf('order %d: leave it %s, ring %.*c', i,
              substr('at the door;with the neighbour;in the garage', 1 + i % 21, 24), i % 60, 'x')
FROM number;
COMMIT;

CREATE INDEX purchase_customer ON purchase (customer, product);
CREATE INDEX purchase_note ON purchase (substr(note, 7), amount);
CREATE INDEX customer_city ON customer (city, name);
ANALYZE;

SELECT 'cities', count(*), sum(total), max(length(names)) FROM (
  SELECT city, sum(amount * price) AS total, group_concat(DISTINCT name) AS names
  FROM purchase JOIN customer ON customer.id = purchase.customer
                JOIN product ON product.id = purchase.product
  GROUP BY city);

SELECT 'words', count(*), max(uses) FROM (
  SELECT lower(trim(substr(note, instr(note, ':') + 1, 18))) AS word, count(*) AS uses
  FROM purchase GROUP BY word ORDER BY uses DESC, word);

SELECT 'ranks', sum(place * price) FROM (
  SELECT price, row_number() OVER (PARTITION BY purchase.customer ORDER BY price, note) AS place
  FROM purchase JOIN product ON product.id = purchase.product)
WHERE place <= 3;

SELECT 'JSON', count(*), sum(json_extract(value, '$.amount')) FROM json_each((
  SELECT json_group_array(json_object('id', id, 'amount', amount, 'note', upper(note)))
  FROM purchase WHERE id <= 20000));

CREATE VIRTUAL TABLE letter USING fts5 (text);
INSERT INTO letter SELECT group_concat(note, '. ') FROM purchase WHERE id <= 30000 GROUP BY id / 3;
WITH found AS MATERIALIZED (
  SELECT snippet(letter, 0, '<', '>', '...', 8) AS extract
  FROM letter WHERE letter MATCH 'garage AND "neighbour in the"')
SELECT 'letters', count(*), sum(length(extract)) FROM found;

UPDATE purchase SET amount = amount + 1, note = note || ', twice' WHERE product % 3 = 0;
DELETE FROM purchase WHERE note LIKE '%garage%' AND amount > 7;
SELECT 'purchases', count(*), sum(length(note)) FROM purchase;
SELECT 'history', count(*), sum(amount_before), sum(length(note_before)) FROM history;
