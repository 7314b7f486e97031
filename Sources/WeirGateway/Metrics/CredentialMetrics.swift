import WeirHTTP
import WeirMetrics
import WeirTransport

/// The metrics of credentials and of the files that hold secrets, computed for each page. What is counted of refreshes is
/// the library's.
final class CredentialMetrics: Collector {
  private static let expires = "weir_credential_expires_timestamp_seconds"
  private static let state = "weir_credential_state"
  private static let problems = "weir_secret_file_problems"

  let credentials = MetricsSource<CredentialReport>()
  let files = MetricsSource<(key: String, file: SecretFile)>()

  var metrics: [CollectedMetric] {
    [
      CollectedMetric(
        Self.expires, help: "When the present token of a credential is of no use any more, Unix time.", kind: .gauge,
        labels: ["credential"]),
      CollectedMetric(
        Self.state,
        help:
          "1 for the state of a credential: good, missing (none can be sent) or failing (the next one can't be had).",
        kind: .gauge, labels: ["credential", "state"]),
      CollectedMetric(
        Self.problems, help: "Whether a secret's file can't be used, so that an older value is in force.", kind: .gauge,
        labels: ["key"]),
    ]
  }

  func collect(into samples: inout CollectedSamples) {
    let now = Timestamp.now.seconds
    for report in credentials.items {
      if let seconds = report.expiresIn { samples.set(Self.expires, now + seconds, labels: [report.name]) }
      for state in CredentialReport.State.allCases {
        samples.set(Self.state, report.state == state ? 1 : 0, labels: [report.name, state.rawValue])
      }
    }
    for (key, file) in files.items { samples.set(Self.problems, file.problem == nil ? 0 : 1, labels: [key]) }
  }
}
