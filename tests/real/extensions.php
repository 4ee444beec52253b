<?php // SPDX-License-Identifier: MIT
// Uses the extensions that Debian builds as shared libraries, each with memory that goes in and out
// of it, and prints what they compute. Writes into the folder that it runs in.
$rows = [];
for ($i = 0; $i < 4000; ++$i) {
  $rows[] = ['id' => $i, 'name' => "Gerät\u{2009}№$i", 'bytes' => $i * 7919 % 1500,
             'tags' => array_fill(0, $i % 7, mb_strtoupper("straße $i"))];
}

// json, mbstring, iconv, zlib, hash
$text = json_encode($rows, JSON_UNESCAPED_UNICODE);
echo strlen($text), ' ', mb_strlen($text), ' ', json_decode($text, true) === $rows, "\n";
foreach (['UTF-16LE', 'UTF-7', 'SJIS-win', 'HTML-ENTITIES'] as $to) {
  echo $to, ' ', md5(@mb_convert_encoding(substr($text, 0, 50000), $to, 'UTF-8')), "\n";
}
echo mb_ereg_replace('(\d+)9', '<\1>', mb_substr($text, 0, 300)), "\n";
echo md5(iconv('UTF-8', 'ASCII//TRANSLIT', mb_substr($text, 0, 5000))), "\n";
echo md5(gzuncompress(gzcompress(str_repeat($text, 5), 9))), ' ', hash('sha3-256', $text), "\n";

// PDO and sqlite3
$db = new PDO('sqlite::memory:');
$db->setAttribute(PDO::ATTR_ERRMODE, PDO::ERRMODE_EXCEPTION);
$db->sqliteCreateFunction('turned', fn($s) => strrev($s));
$db->exec('CREATE TABLE packets(id INTEGER PRIMARY KEY, name TEXT, bytes INTEGER)');
$insert = $db->prepare('INSERT INTO packets VALUES(?, ?, ?)');
$db->beginTransaction();
foreach ($rows as $r) $insert->execute([$r['id'], $r['name'], $r['bytes']]);
$db->commit();
$sums = 'SELECT bytes / 100 AS b, count(*) AS n, max(turned(name)) AS t FROM packets GROUP BY 1';
foreach ($db->query($sums) as $r) {
  echo $r['b'], ' ', $r['n'], ' ', md5($r['t']), "\n";
}
try {
  $db->exec('SELECT nothing');
} catch (PDOException $e) {
  echo $e->getMessage(), "\n";
}
$base = new SQLite3('file.db');
$base->createAggregate('longest', fn($c, $n, $s) => max($c, strlen($s)), fn($c) => $c);
$base->exec('CREATE TABLE t(s TEXT)');
$base->exec('BEGIN');
foreach (array_slice($rows, 0, 500) as $r) {
  $base->exec("INSERT INTO t VALUES('" . $base->escapeString($r['name']) . "')");
}
$base->exec('COMMIT');
echo $base->querySingle('SELECT longest(s) FROM t'), "\n";

// dom, simplexml, xmlreader, xmlwriter, xsl, xml
$w = new XMLWriter();
$w->openMemory();
$w->startDocument('1.0', 'UTF-8');
$w->startElement('packets');
foreach ($rows as $r) {
  $w->startElement('p');
  $w->writeAttribute('bytes', $r['bytes']);
  foreach ($r['tags'] as $t) $w->writeElement('tag', $t);
  $w->endElement();
}
$w->endElement();
$xml = $w->outputMemory();
$d = new DOMDocument();
$d->loadXML($xml);
$x = new DOMXPath($d);
echo $x->query('//p[@bytes > 1000 and count(tag) = 3]')->length, "\n";
echo $x->evaluate('sum(//p/@bytes)'), "\n";
foreach (iterator_to_array($x->query('//p[count(tag) = 0]')) as $p) $p->parentNode->removeChild($p);
echo md5($d->saveXML()), "\n";
$style = new DOMDocument();
$style->loadXML('<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
 xmlns:php="http://php.net/xsl"><xsl:output method="text"/><xsl:template match="p"><xsl:value-of
 select="php:function(\'md5\', string(tag))"/>,</xsl:template></xsl:stylesheet>');
$p = new XSLTProcessor();
$p->registerPHPFunctions();
$p->importStylesheet($style);
echo md5($p->transformToXML($d)), "\n";
$s = simplexml_load_string($xml);
echo count($s->p), ' ', $s->p[8]->tag[0], "\n";
$reader = new XMLReader();
$reader->XML($xml);
for ($n = 0; $reader->read();) $n += $reader->nodeType == XMLReader::TEXT;
echo $n, "\n";
$sax = xml_parser_create();
$depth = $most = 0;
xml_set_element_handler($sax, function () use (&$depth, &$most) { $most = max($most, ++$depth); },
                        function () use (&$depth) { --$depth; });
xml_parse($sax, $xml, true);
echo $most, "\n";
libxml_use_internal_errors(true);
var_dump((new DOMDocument())->loadXML('<a><b></a>'));
foreach (libxml_get_errors() as $e) echo trim($e->message), "\n";

// curl
file_put_contents('data.json', $text);
$many = curl_multi_init();
$handles = [];
for ($i = 0; $i < 20; ++$i) {
  $handles[$i] = curl_init('file://' . getcwd() . '/data.json');
  curl_setopt_array($handles[$i], [CURLOPT_RETURNTRANSFER => true,
                                   CURLOPT_RANGE => $i * 1000 . '-' . $i * 5000]);
  curl_multi_add_handle($many, $handles[$i]);
}
do { $status = curl_multi_exec($many, $running); } while ($running && $status == CURLM_OK);
foreach ($handles as $h) {
  echo md5(curl_multi_getcontent($h)), "\n";
  curl_multi_remove_handle($many, $h);
}
$none = curl_init('file:///no/such/file');
var_dump(curl_exec($none), curl_errno($none), curl_escape($none, "a b&\u{e4}"));

// sodium, sockets, and a child that ends by itself
echo bin2hex(sodium_crypto_generichash($text)), "\n";
socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
socket_write($pair[0], 'over a socket');
echo socket_read($pair[1], 100), "\n";
$pid = pcntl_fork();
if ($pid == 0) {
  $d = $db = null;
  exit(3);
}
pcntl_waitpid($pid, $status);
echo pcntl_wexitstatus($status), "\n";
