/// A report as JSON, for programs. Its schema is docs/status.schema.json.
package enum StatusJSON {
  package static func bytes(_ report: StatusReport) -> [UInt8] {
    let rows = report.routes.count + report.upstreams.count
    var json = JSONWriter(capacity: 16 * 1024 + 4096 * rows)
    report.write(to: &json)
    return json.bytes
  }
}

extension StatusReport: JSONObject {
  var members: JSONMembers {
    [
      "version": version, "started": Moment(seconds: started), "now": Moment(seconds: now), "config": configuration,
      "problems": problems, "listeners": listeners, "routes": routes, "upstreams": upstreams,
      "credentials": credentials, "failures": failures, "slowest": slowest,
    ]
  }
}

extension StatusReport.ConfigurationState: JSONObject {
  var members: JSONMembers {
    ["file": file, "loaded": Moment(seconds: loaded), "last_load_succeeded": isSuccessful]
  }
}

extension StatusProblem: JSONObject {
  var members: JSONMembers {
    ["kind": kind.rawValue, "severity": severity.rawValue, "subject": subject, "text": text]
  }
}

extension StatusReport.Listener: JSONObject {
  var members: JSONMembers {
    [
      "name": name, "address": address, "tls": isSecure, "handshaking": handshaking, "idle": idle, "active": active,
    ]
  }
}

extension StatusReport.Route: JSONObject {
  var members: JSONMembers {
    [
      "name": name, "upstream": upstream.nonEmpty, "last_10s": traffic.last10s, "last_5m": traffic.last5m,
      "history": traffic.history,
    ]
  }
}

extension StatusReport.Upstream: JSONObject {
  var members: JSONMembers {
    [
      "name": name, "in_flight": inFlight, "waiting": waiting, "retry_budget": budget, "circuit": circuit,
      "load_control": loadControl, "limit": limit, "used": used,
      "paused_for": pausedFor, "endpoints": endpoints, "operations": operations, "last_10s": traffic.last10s,
      "last_5m": traffic.last5m, "history": traffic.history,
    ]
  }
}

extension StatusReport.Operation: JSONObject {
  var members: JSONMembers {
    ["name": name, "last_10s": Figures(last10s), "last_5m": Figures(last5m)]
  }

  private struct Figures: JSONObject {
    let window: StatusReport.Window

    init(_ window: StatusReport.Window) { self.window = window }

    var members: JSONMembers {
      [
        "requests": window.requests, "failed": window.failed,
        "retries": window.retries.reduce(0) { $0 + $1.count }, "p50_seconds": window.p50, "p99_seconds": window.p99,
      ]
    }
  }
}

extension StatusReport.Endpoint: JSONObject {
  var members: JSONMembers {
    [
      "address": address, "state": state, "share_10s": share10s, "share_5m": share5m, "failed_10s": failures10s,
      "failed_5m": failures5m, "ewma_seconds": ewma, "in_flight": inFlight, "last_failure": lastFailure,
    ]
  }
}

extension StatusReport.Credential: JSONObject {
  var members: JSONMembers {
    ["name": name, "state": state, "expires_in": expiresIn, "failure": failure, "waiting": waiting]
  }
}

extension StatusReport.Window: JSONObject {
  var members: JSONMembers {
    [
      "seconds": seconds, "requests": requests, "failed": failed, "outcomes": outcomes, "attempts": attempts,
      "retries": retries, "retries_denied": denied, "rate_limited": limited, "shed": shed, "paced": paced,
      "abandoned": abandoned,
      "retry_demand": retryDemand, "p50_seconds": p50, "p99_seconds": p99, "phases": phases,
    ]
  }
}

extension StatusReport.Named: JSONObject {
  var members: JSONMembers { ["name": name, "count": count] }
}

extension StatusReport.Phase: JSONObject {
  var members: JSONMembers { ["name": name, "p50_seconds": p50, "p99_seconds": p99] }
}

extension StatusReport.History: JSONObject {
  var members: JSONMembers {
    [
      "bucket_seconds": Self.bucketSeconds, "requests": requests, "failed": failed, "retries_wanted": retriesWanted,
      "p99_seconds": p99,
    ]
  }
}

extension RecentRequest: JSONObject {
  var members: JSONMembers {
    [
      "time": Moment(seconds: time), "route": route.nonEmpty, "upstream": upstream.nonEmpty, "endpoint": endpoint,
      "method": method, "path": path, "status": (status == 0 ? nil : status) as Int?, "outcome": outcome,
      "error": error.nonEmpty, "seconds": seconds, "attempts": attempts, "trace_id": traceID,
    ]
  }
}

/// A time as text, in seconds since 1970.
private struct Moment: JSONValue {
  let seconds: Double

  func write(to json: inout JSONWriter) { json.value(time: seconds) }
}

extension String {
  /// Empty text of the report stands for nothing.
  fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
