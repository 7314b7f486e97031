/// A report as JSON, for programs. Its schema is docs/status.schema.json.
package enum StatusJSON {
  package static func bytes(_ report: StatusReport) -> [UInt8] {
    let rows = report.routes.count + report.upstreams.count
    var json = JSONWriter(capacity: 16 * 1024 + 4096 * rows)
    json.object { json in
      json.name("version")
      json.value(report.version)
      json.name("started")
      json.value(time: report.started)
      json.name("now")
      json.value(time: report.now)
      json.name("config")
      configuration(report.configuration, to: &json)
      json.name("problems")
      json.array(report.problems) { problem($1, to: &$0) }
      json.name("listeners")
      json.array(report.listeners) { listener($1, to: &$0) }
      json.name("routes")
      json.array(report.routes) { route($1, to: &$0) }
      json.name("upstreams")
      json.array(report.upstreams) { upstream($1, to: &$0) }
      json.name("failures")
      json.array(report.failures) { request($1, to: &$0) }
      json.name("slowest")
      json.array(report.slowest) { request($1, to: &$0) }
    }
    return json.bytes
  }

  private static func configuration(_ state: StatusReport.ConfigurationState?, to json: inout JSONWriter) {
    guard let state else { return json.null() }
    json.object { json in
      json.name("file")
      json.value(state.file)
      json.name("loaded")
      json.value(time: state.loaded)
      json.name("last_load_succeeded")
      json.value(state.isSuccessful)
    }
  }

  private static func problem(_ problem: StatusProblem, to json: inout JSONWriter) {
    json.object { json in
      json.name("kind")
      json.value(problem.kind.rawValue)
      json.name("severity")
      json.value(problem.severity.rawValue)
      json.name("subject")
      json.value(problem.subject)
      json.name("text")
      json.value(problem.text)
    }
  }

  private static func listener(_ listener: StatusReport.Listener, to json: inout JSONWriter) {
    json.object { json in
      json.name("name")
      json.value(listener.name)
      json.name("address")
      json.value(listener.address)
      json.name("tls")
      json.value(listener.isSecure)
      json.name("handshaking")
      json.value(listener.handshaking)
      json.name("idle")
      json.value(listener.idle)
      json.name("active")
      json.value(listener.active)
    }
  }

  private static func route(_ route: StatusReport.Route, to json: inout JSONWriter) {
    json.object { json in
      json.name("name")
      json.value(route.name)
      json.name("upstream")
      json.value(known(route.upstream))
      traffic(route.traffic, to: &json)
    }
  }

  private static func upstream(_ upstream: StatusReport.Upstream, to json: inout JSONWriter) {
    json.object { json in
      json.name("name")
      json.value(upstream.name)
      json.name("in_flight")
      json.value(upstream.inFlight)
      json.name("waiting")
      json.value(upstream.waiting)
      json.name("retry_budget")
      json.value(upstream.budget)
      json.name("circuit")
      json.value(upstream.circuit)
      json.name("load_control")
      json.value(upstream.loadControl)
      json.name("limit")
      json.value(whole: upstream.limit)
      json.name("used")
      json.value(whole: upstream.used)
      json.name("endpoints")
      json.array(upstream.endpoints) { endpoint($1, to: &$0) }
      traffic(upstream.traffic, to: &json)
    }
  }

  private static func endpoint(_ endpoint: StatusReport.Endpoint, to json: inout JSONWriter) {
    json.object { json in
      json.name("address")
      json.value(endpoint.address)
      json.name("state")
      json.value(endpoint.state)
      json.name("share_10s")
      json.value(endpoint.share10s)
      json.name("share_5m")
      json.value(endpoint.share5m)
      json.name("failed_10s")
      json.value(endpoint.failures10s)
      json.name("failed_5m")
      json.value(endpoint.failures5m)
      json.name("ewma_seconds")
      json.value(endpoint.ewma)
      json.name("in_flight")
      json.value(endpoint.inFlight)
      json.name("last_failure")
      if let failure = endpoint.lastFailure { request(failure, to: &json) } else { json.null() }
    }
  }

  private static func request(_ request: RecentRequest, to json: inout JSONWriter) {
    json.object { json in
      json.name("time")
      json.value(time: request.time)
      json.name("route")
      json.value(known(request.route))
      json.name("upstream")
      json.value(known(request.upstream))
      json.name("endpoint")
      json.value(request.endpoint)
      json.name("method")
      json.value(request.method)
      json.name("path")
      json.value(request.path)
      json.name("status")
      json.value(whole: request.status == 0 ? nil : request.status)
      json.name("outcome")
      json.value(request.outcome)
      json.name("error")
      json.value(known(request.error))
      json.name("seconds")
      json.value(request.seconds)
      json.name("attempts")
      json.value(request.attempts)
      json.name("trace_id")
      json.value(request.traceID)
    }
  }

  /// Empty text of the report stands for nothing.
  private static func known(_ text: String) -> String? { text.isEmpty ? nil : text }
}
