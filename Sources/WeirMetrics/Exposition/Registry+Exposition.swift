extension Registry {
  /// Adds all metrics to a page.
  ///
  /// Families are sorted by name, series by their labels. No writer waits for this; numbers that change meanwhile are
  /// on the page in their old or their new state. Reuse the page: its memory is kept.
  public func write(_ exposition: Exposition = Exposition(), to page: inout ExpositionPage) {
    prepareForPage()
    let (families, collectors) = all()
    let wanted = families.filter { exposition.shows($0.descriptor) }
    let collected = collect(collectors, families, exposition)
    let encoder = TextEncoder(exposition)
    for family in wanted {
      encoder.encode(family, family.content(collected), to: &page)
    }
    encoder.finish(&page)
  }

  /// All metrics as text, for tests and logs. An endpoint should reuse an ``ExpositionPage`` instead.
  public func text(_ exposition: Exposition = Exposition()) -> String {
    var page = ExpositionPage()
    write(exposition, to: &page)
    return page.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  private func collect(
    _ collectors: [CollectorEntry], _ families: [any MetricFamily], _ exposition: Exposition
  ) -> CollectedSamples {
    var samples = CollectedSamples()
    for entry in collectors where entry.families.contains(where: { exposition.shows($0.descriptor) }) {
      samples.begin(entry.families)
      switch entry.source {
      case .collector(let collector): collector.collect(into: &samples)
      case .registry: OwnMetrics.collect(families, refusals, into: &samples)
      }
    }
    return samples
  }
}

extension Exposition {
  func shows(_ metric: MetricDescriptor) -> Bool {
    guard let only else { return true }
    return metric.claimedNames.contains { only.contains($0) }
  }
}
