# SPDX-License-Identifier: MIT
# A text index in Perl: hashes of arrays, strings, sorting, a regular expression.
# Run as `perl words.pl [PART]` with PERL_HASH_SEED=0, or the hashes collide differently in each
# run. PART is a divisor of the lines. Prints one line that is the same in every run.
use strict;
use warnings;

my ($lines, $words_per_line) = (int(40_000 / (shift // 1)), 8);
my $seed = 42;

sub random {
    my ($limit) = @_;
    $seed = ($seed * 1103515245 + 12345) % 2147483648;
    return int($seed / 65536) % $limit;
}

# word -> [the lines that have it], and the text of each line.
my (%lines_of, @texts);
for my $line (1 .. $lines) {
    my @words = map { chr(97 + random(26)) x (1 + random(12)) . random(40) } 1 .. $words_per_line;
    push @{ $lines_of{$_} }, $line for @words;
    push @texts, join ' ', "line $line:", @words;
}

my ($longest, $hits) = ('', 0);
for my $word (sort keys %lines_of) {
    my %distinct = map { $_ => 1 } @{ $lines_of{$word} };
    $hits += keys %distinct;
    my $entry = join ',', map { sprintf '%05d', $_ } sort { $a <=> $b } keys %distinct;
    $longest = "$word $entry" if length($word) + length($entry) > length($longest);
}
my $characters = 0;
for my $text (@texts) {
    (my $shouted = $text) =~ s/\b([a-m]+)(\d+)\b/uc($1) . "<$2>"/ge;
    $characters += length $shouted;
}
printf "%d words, %d hits, %d characters, longest %d\n", scalar keys %lines_of, $hits, $characters,
    length $longest;
