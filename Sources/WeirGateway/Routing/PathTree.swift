import Glibc
import WeirHTTP

/// The paths of many routes, as a tree of their segments. Finds the first route whose path matches, without looking at
/// each of them. Immutable. It is a class because a copy of its arrays would cost as much as a walk.
final class PathTree: Sendable {
  private struct Node {
    /// The children by the text of a segment, in the order of `order`: a range in `edges`.
    var edges = 0..<0
    /// The child for any segment; 0, which is the root, if there is none.
    var wildcard = 0
    /// The places of the paths that end here, and of those that may go on: ranges in `places`, in ascending order.
    var ends = 0..<0
    var opens = 0..<0
  }

  private struct Edge {
    /// A range in `octets`.
    let text: Range<Int>
    let node: Int
  }

  private let nodes: [Node]
  private let edges: [Edge]
  private let octets: [UInt8]
  private let places: [Int]

  /// - Parameter paths: The paths, each with a place. Of several that match, the one in the least place comes first.
  init(_ paths: [(path: PathMatch, place: Int)]) {
    let root = Branch()
    for (path, place) in paths.sorted(by: { $0.place < $1.place }) {
      let branch = path.segments.reduce(root) { $0.child($1) }
      if path.isOpen { branch.opens.append(place) } else { branch.ends.append(place) }
    }
    var builder = Builder()
    _ = builder.add(root)
    (nodes, edges, octets, places) = (builder.nodes, builder.edges, builder.octets, builder.places)
  }

  /// The least place of a path that matches and that `takes` accepts; nil if there is none.
  ///
  /// - Parameter path: A path that begins with a slash.
  func first(of path: Span<UInt8>, where takes: (Int) -> Bool) -> Int? {
    var best = Int.max
    walk(path, from: 0, at: 0, &best, takes)
    return best == .max ? nil : best
  }

  private func walk(
    _ path: Span<UInt8>, from start: Int, at node: Int, _ best: inout Int, _ takes: (Int) -> Bool
  ) {
    var (start, index) = (start, node)
    while true {
      let node = nodes[index]
      take(node.opens, &best, takes)
      if start == path.count { return take(node.ends, &best, takes) }
      if node.edges.isEmpty, node.wildcard == 0 { return }
      let end = path.firstIndex(of: .slash, from: start + 1) ?? path.count
      let segment = path.extracting(start + 1..<end)
      let next = child(node.edges, segment)
      let wildcard = segment.isEmpty ? 0 : node.wildcard
      if next != 0, wildcard != 0 { walk(path, from: end, at: wildcard, &best, takes) }
      (start, index) = (end, next == 0 ? wildcard : next)
      if index == 0 { return }
    }
  }

  private func take(_ range: Range<Int>, _ best: inout Int, _ takes: (Int) -> Bool) {
    for index in range {
      let place = places[index]
      if place >= best { return }
      if takes(place) {
        best = place
        return
      }
    }
  }

  /// The child for a segment; 0 if there is none.
  private func child(_ range: Range<Int>, _ segment: Span<UInt8>) -> Int {
    var (low, high) = (range.lowerBound, range.upperBound)
    while low < high {
      let middle = (low + high) / 2
      let edge = edges[middle]
      let order = order(segment, edge.text)
      if order == 0 { return edge.node }
      if order < 0 { high = middle } else { low = middle + 1 }
    }
    return 0
  }

  /// Less than 0 if the segment comes before the text of an edge. Shorter ones do, since lengths are compared without a
  /// call.
  private func order(_ segment: Span<UInt8>, _ text: Range<Int>) -> Int {
    guard segment.count == text.count else { return segment.count - text.count }
    return segment.withUnsafeBytes { segment in
      octets.withUnsafeBytes { octets in
        guard let left = segment.baseAddress, let right = octets.baseAddress else { return 0 }
        return Int(memcmp(left, right + text.lowerBound, segment.count))
      }
    }
  }
}

extension PathTree {
  /// A node that is being built.
  private final class Branch {
    var children: [String: Branch] = [:]
    var wildcard: Branch?
    var ends: [Int] = []
    var opens: [Int] = []

    func child(_ segment: PathMatch.Segment) -> Branch {
      switch segment {
      case .text(let text):
        let child = children[text] ?? Branch()
        children[text] = child
        return child
      case .any:
        let child = wildcard ?? Branch()
        wildcard = child
        return child
      }
    }
  }

  /// The tree's arrays while it is built.
  private struct Builder {
    var nodes: [Node] = []
    var edges: [Edge] = []
    var octets: [UInt8] = []
    var places: [Int] = []

    /// Adds a branch with all below it. A path has at most 1,024 segments, so the recursion is bounded.
    mutating func add(_ branch: Branch) -> Int {
      let index = nodes.count
      nodes.append(Node(ends: add(branch.ends), opens: add(branch.opens)))
      var children: [Edge] = []
      let texts = branch.children.sorted { one, other in
        let (left, right) = (one.key.utf8, other.key.utf8)
        return left.count == right.count ? left.lexicographicallyPrecedes(right) : left.count < right.count
      }
      for (text, child) in texts {
        let start = octets.count
        octets.append(contentsOf: text.utf8)
        children.append(Edge(text: start..<octets.count, node: add(child)))
      }
      if let wildcard = branch.wildcard { nodes[index].wildcard = add(wildcard) }
      nodes[index].edges = edges.count..<edges.count + children.count
      edges += children
      return index
    }

    private mutating func add(_ list: [Int]) -> Range<Int> {
      places += list
      return places.count - list.count..<places.count
    }
  }
}
