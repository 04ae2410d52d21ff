// Reads a JSON list of Kubernetes objects, and checks the kinds that operators define: the Prometheus operator's against its types,
// KEDA's against its custom resource definitions. Prints one line per fault. Unknown fields are faults, because the API server would
// drop them.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	// for its definitions, which are files in the module
	_ "github.com/kedacore/keda/v2/version"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func main() {
	var objects []json.RawMessage
	must(json.NewDecoder(os.Stdin).Decode(&objects))
	definitions := kedaDefinitions()
	for _, text := range objects {
		var object unstructured.Unstructured
		must(object.UnmarshalJSON(text))
		var faults []string
		switch object.GroupVersionKind().Group {
		case "monitoring.coreos.com":
			faults = againstType(object, text)
		case "keda.sh":
			faults = againstDefinition(object, definitions)
		}
		for _, fault := range faults {
			fmt.Printf("%s %s: %s\n", object.GetKind(), object.GetName(), fault)
		}
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func againstType(object unstructured.Unstructured, text []byte) []string {
	kinds := map[string]any{"PodMonitor": &monitoring.PodMonitor{}, "PrometheusRule": &monitoring.PrometheusRule{}}
	kind, known := kinds[object.GetKind()]
	if !known || object.GetAPIVersion() != "monitoring.coreos.com/v1" {
		return []string{"there is no type to check it"}
	}
	if err := yaml.UnmarshalStrict(text, kind); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// The schemas of KEDA's kinds, by `apiVersion kind`.
func kedaDefinitions() map[string]*apiextensions.JSONSchemaProps {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kedacore/keda/v2").Output()
	must(err)
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "config/crd/bases/keda.sh_*.yaml"))
	must(err)
	definitions := map[string]*apiextensions.JSONSchemaProps{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(err)
		var definition apiextensionsv1.CustomResourceDefinition
		must(yaml.Unmarshal(text, &definition))
		for _, version := range definition.Spec.Versions {
			props := &apiextensions.JSONSchemaProps{}
			must(apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
				version.Schema.OpenAPIV3Schema, props, nil))
			definitions[definition.Spec.Group+"/"+version.Name+" "+definition.Spec.Names.Kind] = props
		}
	}
	return definitions
}

func againstDefinition(object unstructured.Unstructured, definitions map[string]*apiextensions.JSONSchemaProps) []string {
	props, known := definitions[object.GetAPIVersion()+" "+object.GetKind()]
	if !known {
		return []string{"there is no definition to check it"}
	}
	validator, _, err := validation.NewSchemaValidator(props)
	must(err)
	var faults []string
	for _, fault := range validation.ValidateCustomResource(nil, object.Object, validator) {
		faults = append(faults, fault.Error())
	}
	structural, err := schema.NewStructural(props)
	must(err)
	unknown := pruning.PruneWithOptions(object.Object, structural, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		faults = append(faults, fmt.Sprintf("unknown field %q", path))
	}
	return faults
}
