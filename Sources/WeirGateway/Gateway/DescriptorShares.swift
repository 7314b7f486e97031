import WeirExporter

/// The number of connections that each listener may have. So clients of one listener can't take the descriptors that
/// the other one, or the connections to upstreams, need. A value.
struct DescriptorShares: Equatable {
  /// The connections of the metrics address.
  let metrics: Int
  /// The connections of the gateway's address, all workers together.
  let clients: Int

  /// Descriptors that stay open in any case: listeners, event loops, standard streams, and files while they are read.
  private static let fixed = 32
  private static let fixedPerWorker = 4

  /// - Parameter hasOrigin: Whether the process also holds the other end of the connections to upstreams.
  init(limit: Int, workers: Int, hasOrigin: Bool = false) {
    metrics = Exporter.Limits().within(descriptors: limit).connections
    let rest = limit - Self.fixed - Self.fixedPerWorker * workers - metrics
    // Each client needs two descriptors: its own connection, and that to the upstream for its request.
    clients = max(workers, rest / (hasOrigin ? 3 : 2))
  }
}
