internal import CAres
internal import Glibc
internal import WeirIO

/// The settings of a channel.
struct AresSettings {
  /// The tries at each server. The second waits twice as long as the first (`ares__send_query`).
  private static let tries = 2

  let servers: ResolverServers
  /// The path of resolv.conf. Its search list counts for other servers, too.
  let resolvConf: String
  /// The seconds that all tries take together.
  let timeout: Double

  /// Calls `body` with c-ares' options and the mask of those that are set.
  func withOptions(serverCount: Int, _ body: (inout ares_options, CInt) -> AresStatus) -> AresStatus {
    // c-ares copies both texts. The lookups are files and DNS, in this order, whatever nsswitch.conf has.
    resolvConf.withCString { path in
      "fb".withCString { lookups in
        var options = ares_options()
        // HOSTALIASES would have a file read for each question.
        options.flags = ARES_FLAG_NOALIASES
        options.timeout = millisecondsPerTry(serverCount: serverCount)
        options.tries = CInt(Self.tries)
        options.lookups = UnsafeMutablePointer(mutating: lookups)
        options.resolvconf_path = UnsafeMutablePointer(mutating: path)
        let mask =
          ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF
        return body(&options, mask)
      }
    }
  }

  /// The wait of the first try at each server. Both tries at all servers end at nine tenths of the timeout. So a name has
  /// an answer if the addresses of one version of IP came, but the question about the other was lost each time.
  func millisecondsPerTry(serverCount: Int) -> CInt {
    // The second round is twice as long as the first.
    let rounds = (1 << Self.tries) - 1
    return CInt(clamping: max(1, Int(timeout * 900) / (rounds * serverCount)))
  }
}

/// Numbers of DNS (RFC 1035 §3.2, RFC 2782).
enum RecordType {
  static let internet: CInt = 1
  static let service: CInt = 33
}

extension Question.Family {
  var systemFamily: CInt {
    switch self {
    case .any: AF_UNSPEC
    case .ipv4: AF_INET
    case .ipv6: AF_INET6
    }
  }
}
