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
      var tls = ListenerTLS()
      var readers: [ConfigurationReader] = []
      let list = keys.take("certificates", required: "list at least one { certificate, key }")
      for element in list?.elements() ?? [] {
        let _: Void? = element.mapping { keys in
          let certificate = keys.take("certificate", required: "it names a file in PEM, the server's own one first")
          let key = keys.take("key", required: "it names the file of the certificate's private key, in PEM")
          if let first = certificate?.filePath(), let second = key?.filePath() {
            tls.certificates.append(ListenerTLS.Pair(certificate: first, key: second))
            readers += [certificate, key].compactMap(\.self)
          }
          return ()
        }
      }
      if let list, case .sequence(let entries) = list.node.content,
        !(1...TLSSettings.maximumCertificates).contains(entries.count)
      {
        list.report("holds \(entries.count) certificates; give 1 to \(TLSSettings.maximumCertificates)")
      }
      if let strict = keys.take("strictNames", as: .boolean) { tls.rules.strictNames = strict }
      if let version = keys.take("minimumVersion", as: .tlsVersion) {
        tls.rules.minimumVersion = version == .tls13 ? .v1_3 : .v1_2
      }
      let authorities = keys.take("clientCA"), tickets = keys.take("ticketKeys")
      tls.clientCA = authorities?.filePath()
      tls.ticketKeys = tickets?.filePath()
      readers += [authorities, tickets].compactMap(\.self)
      clientCertificates(&keys, into: &tls, areAsked: authorities != nil)
      guard findings.problems.count == problems else { return nil }
      check(tls.files, readers)
      return tls
    }
  }

  /// Reads the keys about certificates of clients.
  private func clientCertificates(_ keys: inout ConfigurationKeys, into tls: inout ListenerTLS, areAsked: Bool) {
    let unasked = "needs clientCA, the file of the authorities of clients' certificates"
    if let reader = keys.take("clientAuth"), let word = reader.word(among: ["required", "optional"]) {
      if !areAsked { reader.report(unasked) }
      tls.rules.clientAuth = word == "optional" ? .optional : .required
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

  private func filePath() -> String? {
    read(as: .string) { $0.hasPrefix("/") ? nil : "give an absolute path" }
  }
}
