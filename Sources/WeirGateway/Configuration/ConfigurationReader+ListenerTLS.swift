import Weir
import WeirHTTP
import WeirTLS

// The TLS of a listener towards its clients. The files are read with the configuration, so their problems are problems
// of it.

extension ConfigurationReader {
  func listenerTLS() -> ListenerTLS? {
    mapping { keys -> ListenerTLS? in
      keys.misplaced = [
        "certificate": "it belongs into certificates: a list of { certificate, key }",
        "key": "it belongs into certificates: a list of { certificate, key }", "ca": "write clientCA",
      ]
      let problems = findings.problems.count
      var contents: [String: [UInt8]] = [:]
      var places: [(certificate: ConfigurationReader?, key: ConfigurationReader?)] = []
      var tls = ListenerTLS(certificates: [])
      let list = keys.take("certificates", required: "list at least one { certificate, key }")
      for element in list?.elements() ?? [] {
        let _: Void? = element.mapping { keys in
          let certificate = keys.take("certificate", required: "it names a file in PEM, the server's own one first")
          let key = keys.take("key", required: "it names the file of the certificate's private key, in PEM")
          places.append((certificate, key))
          tls.certificates.append(
            ListenerTLS.Pair(
              certificate: certificate?.path(into: &contents) ?? "", key: key?.path(into: &contents) ?? ""))
          return ()
        }
      }
      if let list, case .sequence(let entries) = list.node.content,
        !(1...TLSSettings.maximumCertificates).contains(entries.count)
      {
        list.report("holds \(entries.count) certificates; give 1 to \(TLSSettings.maximumCertificates)")
      }
      if let strict = keys.take("strictNames", as: .boolean) { tls.strictNames = strict }
      if let version = keys.take("minimumVersion", as: .tlsVersion) {
        tls.minimumVersion = version == .tls13 ? .v1_3 : .v1_2
      }
      let authorities = keys.take("clientCA"), tickets = keys.take("ticketKeys")
      tls.clientCA = authorities?.path(into: &contents)
      tls.ticketKeys = tickets?.path(into: &contents)
      clientCertificates(&keys, into: &tls, areAsked: authorities != nil)
      guard findings.problems.count == problems, let list else { return nil }
      if let problem = tls.problem(of: contents) {
        let reader: ConfigurationReader? =
          switch problem.place {
          case .certificate(let index): places[index].certificate
          case .key(let index): places[index].key
          case .clientCA: authorities
          case .ticketKeys: tickets
          case .settings: nil
          }
        (reader ?? list).report("\(problem)")
      }
      return tls
    }
  }

  /// Reads the keys about certificates of clients.
  private func clientCertificates(_ keys: inout ConfigurationKeys, into tls: inout ListenerTLS, areAsked: Bool) {
    let unasked = "needs clientCA, the file of the authorities of clients' certificates"
    if let reader = keys.take("clientAuth"), let word = reader.word(among: ["required", "optional"]) {
      if !areAsked { reader.report(unasked) }
      tls.clientAuth = word == "optional" ? .optional : .required
    }
    guard let reader = keys.take("forward") else { return }
    if !areAsked { reader.report(unasked) }
    let _: Void? = reader.mapping { keys in
      let problem = { (name: String) in HeaderRules.problem(setting: name, of: .requests) }
      tls.forward.subject = keys.take("subject", as: .string, unless: problem)
      tls.forward.certificate = keys.take("certificate", as: .string, unless: problem)
      return ()
    }
    if let subject = tls.forward.subject, let certificate = tls.forward.certificate,
      FieldSyntax.isSameName(subject, certificate)
    {
      reader.report("has one field for both; give them different names")
    }
  }

  /// The path of the file that this value names, whose bytes it adds to `contents`.
  private func path(into contents: inout [String: [UInt8]]) -> String? {
    guard let file = namedFile() else { return nil }
    contents[file.path] = file.bytes
    return file.path
  }
}

extension ListenerTLS {
  /// The reason why the files can't be used; nil if they can.
  func problem(of contents: [String: [UInt8]]) -> TLSProblem? {
    do throws(TLSProblem) {
      _ = try TLSServerContext(settings { contents[$0] ?? [] })
      return nil
    } catch {
      return error
    }
  }
}
