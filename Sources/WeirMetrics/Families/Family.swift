/// One metric with labels: its series are found by the values of the labels, in the order of registration.
///
/// ```swift
/// let requests = try registry.counter("http_requests_total", help: "Requests.", labels: "route", "code")
/// requests.with("/users", "200").increment()
/// ```
///
/// `with` finds the series or makes it at zero. It takes no lock and allocates nothing once the series exists. Keeping
/// the returned handle is cheaper still. A series never expires by itself.
///
/// A family holds at most as many label sets as its registry allows (2,000 by default). Beyond that limit, counters and
/// histograms count into one series whose labels are all `_other`, and gauges into none.
/// `weir_metrics_series_folded_total` counts these lookups.
public struct Family<Handle: Instrument, Labels>: Sendable {
  @usableFromInline let store: SeriesStore

  init(_ store: SeriesStore) {
    self.store = store
  }
}

/// A counter with labels, for example `CounterFamily<(String, String)>`.
public typealias CounterFamily<Labels> = Family<Counter, Labels>
/// A gauge with labels.
public typealias GaugeFamily<Labels> = Family<Gauge, Labels>
/// A histogram with labels.
public typealias HistogramFamily<Labels> = Family<Histogram, Labels>
