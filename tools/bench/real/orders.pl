# SPDX-License-Identifier: MIT
# Orders in Perl: hashes of hashes of arrays, records parsed by regular expressions, strings sorted
# and joined. Run as `perl orders.pl` with PERL_HASH_SEED=0, or the hashes collide differently in
# each run. Prints one line that is the same in every run: keys are sorted before they are walked.
use strict;
use warnings;

my ($orders, $rounds) = (6_000, 3);
my $seed = 42;

sub random {
    my ($limit) = @_;
    $seed = ($seed * 1103515245 + 12345) % 2147483648;
    return int($seed / 65536) % $limit;
}

sub make_order {
    my ($number) = @_;
    my @items = map {
        sprintf '%s-%03d x %d', chr(65 + random(26)) x (1 + random(9)), random(50), 1 + random(9)
    } 1 .. 1 + random(6);
    my $city = join '', map { chr(97 + random(26)) } 1 .. 1 + random(3);
    return sprintf 'order %06d; customer=c%d; city=%s; items=[%s]; note="%s"', $number,
        random(900), $city, join(', ', @items), '.' x random(200);
}

# city -> customer -> [orders], each a hash that has an array of hashes.
sub parse {
    my ($lines) = @_;
    my %orders_of;
    for my $line (@$lines) {
        my ($number, $rest) = $line =~ /^order (\d+); (.*)$/ or die "no order: $line";
        my %fields = $rest =~ /(\w+)=([^;\["]+|\[[^\]]*\]|"[^"]*")/g;
        my @items = map {
            /^([A-Z]+)-(\d+) x (\d+)$/ or die "no item: $_";
            { name => $1, part => $2, count => $3 }
        } split /, /, substr $fields{items}, 1, -1;
        push @{ $orders_of{ $fields{city} }{ $fields{customer} } },
            { number => $number, items => \@items, note => length $fields{note} };
    }
    return \%orders_of;
}

# One line a city: its customers, sorted, with what they ordered, sorted.
sub report {
    my ($orders_of) = @_;
    my @lines;
    for my $city (sort keys %$orders_of) {
        my @customers;
        for my $customer (sort keys %{ $orders_of->{$city} }) {
            my %count_of;
            for my $order (@{ $orders_of->{$city}{$customer} }) {
                $count_of{"$_->{name}/$_->{part}"} += $_->{count} for @{ $order->{items} };
            }
            push @customers, join ' ', $customer, map { "$_:$count_of{$_}" } sort keys %count_of;
        }
        push @lines, join '; ', $city, @customers;
    }
    return join "\n", @lines;
}

my ($cities, $characters, $large) = (0, 0, 0);
for my $round (1 .. $rounds) {
    my @lines = map { make_order($_) } 1 .. $orders;
    my $orders_of = parse(\@lines);
    my $report = report($orders_of);
    $cities += keys %$orders_of;
    $characters += length $report;
    $large++ while $report =~ m{/\d+:\d\d}g;
}
printf "%d cities, %d characters, %d of ten and more\n", $cities, $characters, $large;
