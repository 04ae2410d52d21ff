// Reads a JSON list of Kubernetes objects and checks the Prometheus operator's kinds against its types. Prints one line per fault.
// Unknown fields are faults, because the API server would drop them.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	var objects []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		log.Fatal(err)
	}
	for _, text := range objects {
		var object struct {
			APIVersion, Kind string
			Metadata         struct{ Name string }
		}
		if err := json.Unmarshal(text, &object); err != nil {
			log.Fatal(err)
		}
		if object.APIVersion != "monitoring.coreos.com/v1" {
			continue
		}
		kinds := map[string]any{"PodMonitor": &monitoring.PodMonitor{}, "PrometheusRule": &monitoring.PrometheusRule{}}
		kind, known := kinds[object.Kind]
		if !known {
			fmt.Printf("%s %s: there is no type to check it\n", object.Kind, object.Metadata.Name)
		} else if err := yaml.UnmarshalStrict(text, kind); err != nil {
			fmt.Printf("%s %s: %v\n", object.Kind, object.Metadata.Name, err)
		}
	}
}
