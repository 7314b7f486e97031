public import WeirExporter
package import WeirTLS

extension Exporter.Options {
  /// Has the exporter speak TLS 1.2 and 1.3, and nothing else.
  ///
  /// ```swift
  /// var options = Exporter.Options()
  /// try options.useTLS(certificate: "/etc/prices/tls.crt", key: "/etc/prices/tls.key") { print("The page's TLS: \($0)") }
  /// let exporter = try Exporter(listenAddress: ":9464", options: options).start()
  /// ```
  ///
  /// The files are looked at every ten seconds. New connections get what is in them, and open ones keep what they have.
  ///
  /// - Parameters:
  ///   - certificate: The path of a PEM file: the server's own certificate first, then those that lead to its authority.
  ///   - key: The path of a PEM file with its private key, without passphrase.
  ///   - clientCA: The path of a PEM file of the authorities of clients' certificates. With it, a client without such a
  ///     certificate is refused; without it, clients are asked for none.
  ///   - onProblem: Called with a reason in words, on a thread of its own, when changed files can't be used. What was
  ///     read before stays in force.
  /// - Throws: ``ExporterError`` with ``ExporterError/Code/invalidTLS``.
  public mutating func useTLS(
    certificate: String, key: String, clientCA: String? = nil, onProblem: @escaping @Sendable (String) -> Void
  ) throws(ExporterError) {
    let files = TLSFiles(certificates: [TLSFiles.Pair(certificate: certificate, key: key)], clientCA: clientCA)
    do throws(TLSFilesProblem) {
      let watch = try TLSFilesWatch(files) { event in
        if case .refused(let problem) = event { onProblem(problem) }
      }
      watch.start()
      useTLS(of: watch)
    } catch {
      throw .invalidTLS(error.description)
    }
  }

  /// Has the exporter speak the TLS of these files. The options keep the watch, and so does the exporter.
  package mutating func useTLS(of watch: TLSFilesWatch) {
    secure = { watch.source.makeChannel() }
  }
}
