/// What one series of a family is: a ``Counter``, a ``Gauge`` or a ``Histogram``. Not meant for other types.
public protocol SeriesInstrument: AnyObject, Sendable {
  /// The series' labels as the page shows them.
  var labels: SeriesLabels { get }
}
