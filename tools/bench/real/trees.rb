# SPDX-License-Identifier: MIT
# Objects, hashes, blocks, strings and binary trees in Ruby. Ruby keeps small objects in slots of
# its own; longer strings and arrays, hashes, and objects of many fields lie in malloc's memory.
# Run as `ruby --disable-gems trees.rb`. Prints one line that is the same in every run.

DEPTH = 11
TREES = 60
WORDS = 120_000
RECORDS = 80_000

class Node
  attr_reader :left, :right

  def initialize(depth)
    @name = "a node of depth #{depth}, named at some length"
    @left, @right = Node.new(depth - 1), Node.new(depth - 1) if depth > 0
  end

  def count
    1 + (@left ? @left.count + @right.count : 0)
  end
end

Record = Struct.new(:number, :owner, :tags, :text, :amount)

def count_trees
  kept = Node.new(DEPTH + 2)
  (1..TREES).sum { Node.new(DEPTH).count } + kept.count
end

# The uses of made-up words, and the length of the words that occur often, joined.
def count_words(random)
  uses = Hash.new(0)
  WORDS.times do
    letters = (97 + random.rand(26)).chr * (1 + random.rand(60))
    uses[letters + random.rand(20).to_s] += 1
  end
  often = uses.select { |_, count| count > 1 }.keys.sort
  often.map! { |word| word.upcase.gsub(/\d+/, '<\0>') }
  [uses.size, often.join(" ").length]
end

def group_records(random)
  records = (1..RECORDS).map do |number|
    tags = Array.new(1 + random.rand(9)) { |index| :"tag#{index}" }
    Record.new(number, "owner #{random.rand(900)}", tags,
               "record number #{number} with a text that is not embedded", random.rand(1000))
  end
  totals = records.group_by(&:owner).transform_values do |owned|
    { amount: owned.sum(&:amount), tags: owned.flat_map(&:tags).tally,
      text: owned.map { |record| record.text.split.reverse.join("-") }.max }
  end
  totals.values.sum { |total| total[:amount] + total[:tags].values.sum + total[:text].length }
end

random = Random.new(7)
nodes = count_trees
distinct, characters = count_words(random)
puts "#{nodes} nodes, #{distinct} words, #{characters} characters, #{group_records(random)} in all"
