import WeirServer
import WeirTLS

/// The reason why a listener can't be opened.
enum ListenerProblem: Error, CustomStringConvertible {
  case listening(ListenError)
  /// A file of its TLS can't be read, or can't be used.
  case tls(String)

  var description: String {
    switch self {
    case .listening(let error): "\(error)"
    case .tls(let text): text
    }
  }
}

extension ListenerTLS {
  /// Reads the files, and makes a context of them.
  ///
  /// - Parameter previous: The context that this one replaces.
  func context(keysOf previous: TLSServerContext?) throws(ListenerProblem) -> TLSServerContext {
    let settings: TLSSettings
    do throws(ConfigurationError) {
      settings = try self.settings(ConfigurationFile.bytes(of:))
    } catch {
      throw .tls(error.lines.joined(separator: "; "))
    }
    do throws(TLSProblem) {
      return try TLSServerContext(settings, keysOf: previous)
    } catch {
      throw .tls("\(file(of: error.place)): \(error)")
    }
  }

  /// The path of the file that a problem is about; empty if it is about no file.
  private func file(of place: TLSProblem.Place) -> String {
    switch place {
    case .certificate(let index): certificates[index].certificate
    case .key(let index): certificates[index].key
    case .clientCA: clientCA ?? ""
    case .ticketKeys: ticketKeys ?? ""
    case .settings: ""
    }
  }
}
