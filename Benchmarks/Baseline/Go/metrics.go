// The same cases as ../metrics.cpp with client_golang, Prometheus' own library.
package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"syscall"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

var bounds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}

// Processor time of all threads, the collector's included, in seconds.
func cpu() float64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)*1e-6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

func measure(name string, count int, unit float64, body func(int)) {
	began := cpu()
	body(count)
	fmt.Printf("%s\t%.3f\n", name, (cpu()-began)/float64(count)*unit)
}

const protobuf = "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"

func scrape(registry *prometheus.Registry, coding string, accept string) func(int) {
	handler := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	request := httptest.NewRequest("GET", "/metrics", nil)
	request.Header.Set("Accept-Encoding", coding)
	request.Header.Set("Accept", accept)
	return func(count int) {
		for i := 0; i < count; i++ {
			recorder := httptest.NewRecorder()
			handler.ServeHTTP(recorder, request)
			if recorder.Code != http.StatusOK {
				panic(recorder.Code)
			}
		}
	}
}

func main() {
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "a_total"})
	measure("increment", 50_000_000, 1e9, func(count int) {
		for i := 0; i < count; i++ {
			counter.Inc()
		}
	})

	methods := []string{"GET", "PUT", "POST", "DELETE"}
	codes := []string{"200", "201", "404", "503"}
	routes := []string{"/api/v1/items/0", "/api/v1/items/1", "/api/v1/items/2", "/api/v1/items/3"}
	labelled := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "b_total"}, []string{"method", "route", "code"})
	measure("lookup", 5_000_000, 1e9, func(count int) {
		for i := 0; i < count; i++ {
			labelled.WithLabelValues(methods[i&3], routes[i>>2&3], codes[i>>4&3]).Inc()
		}
	})

	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "c_seconds", Buckets: bounds})
	values := make([]float64, 16)
	for i := range values {
		values[i] = 0.003 * float64(int(1)<<i)
	}
	measure("observe", 20_000_000, 1e9, func(count int) {
		for i := 0; i < count; i++ {
			histogram.Observe(values[i&15])
		}
	})

	// With native buckets alone.
	native := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "c_seconds", NativeHistogramBucketFactor: 1.1})
	measure("observe-native", 20_000_000, 1e9, func(count int) {
		for i := 0; i < count; i++ {
			native.Observe(values[i&15])
		}
	})

	measure("contention", 40_000_000, 1e9, func(count int) {
		var done sync.WaitGroup
		for thread := 0; thread < 2; thread++ {
			done.Add(1)
			go func() {
				defer done.Done()
				for i := 0; i < count/2; i++ {
					counter.Inc()
				}
			}()
		}
		done.Wait()
	})

	page := prometheus.NewRegistry()
	durations := prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Name: "request_duration_seconds", Help: "Duration.", Buckets: bounds}, []string{"route", "method"})
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests_total", Help: "Requests."}, []string{"route", "method"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "failures_total", Help: "Failures."}, []string{"route", "method"})
	page.MustRegister(durations, requests, failures)
	for i := 0; i < 1000; i++ {
		route := "/api/v1/items/" + strconv.Itoa(i)
		series := durations.WithLabelValues(route, "GET")
		for k := 0; k < 100; k++ {
			series.Observe(0.003 * float64((i+k*37)%9973))
		}
		requests.WithLabelValues(route, "GET").Add(float64(i))
		failures.WithLabelValues(route, "GET").Add(0)
	}
	measure("scrape", 20, 1e3, scrape(page, "identity", ""))
	measure("scrape-protobuf", 20, 1e3, scrape(page, "identity", protobuf))
	measure("gzip", 20, 1e3, scrape(page, "gzip", ""))

	large := prometheus.NewRegistry()
	users := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "users_total", Help: "Users."}, []string{"user"})
	large.MustRegister(users)
	measure("register", 100_000, 1e9, func(count int) {
		for i := 0; i < count; i++ {
			users.WithLabelValues("user-" + strconv.Itoa(i)).Add(float64(i))
		}
	})
	measure("large", 3, 1e3, scrape(large, "identity", ""))
}
