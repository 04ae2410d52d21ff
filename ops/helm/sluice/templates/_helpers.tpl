{{/* The name of the release, or with "sluice" appended. At most 45 characters: a CronJob with suffix may have 52. */}}
{{- define "sluice.name" -}}
{{- if contains "sluice" .Release.Name }}{{ .Release.Name | trunc 45 | trimSuffix "-" }}{{ else }}{{ printf "%s-sluice" .Release.Name | trunc 45 | trimSuffix "-" }}{{ end }}
{{- end }}

{{/* Labels that select pods. They must not change after an installation. */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: sluice
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels of backup jobs' pods: not those above, so that the policies and the monitor of processes leave them out. */}}
{{- define "sluice.backupSelector" -}}
app.kubernetes.io/name: sluice-backup
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Values.image.tag | default .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* Selects the release's series in Prometheus. The second label comes from the PodMonitor's podTargetLabels. */}}
{{- define "sluice.series" -}}
namespace={{ .Release.Namespace | quote }},app_kubernetes_io_instance={{ .Release.Name | quote }}
{{- end }}

{{/* The ports of each process: `http` for clients or operators, `ops` for probes and metrics. */}}
{{- define "sluice.processes" -}}
ingest: { http: 8080, ops: 8084 }
router: { ops: 8082 }
deliverer: { ops: 8083 }
control: { http: 8081, ops: 8086 }
{{- end }}

{{/* The ports in the addresses of Kafka and the registry. */}}
{{- define "sluice.kafkaPorts" -}}
{{- $url := required "networkPolicy.kafkaPorts is required if schemaRegistry.url is empty" .Values.schemaRegistry.url | urlParse }}
{{- $ports := list (regexFind ":[0-9]+$" $url.host | default (eq $url.scheme "https" | ternary ":443" ":80")) }}
{{- range splitList "," (nospace .Values.kafka.brokers) | compact }}
{{- $ports = append $ports (regexFind ":[0-9]+$" .) }}
{{- end }}
{{- range uniq $ports }}
- {{ trimPrefix ":" . }}
{{- end }}
{{- end }}

{{/* The settings of all processes, without secrets. */}}
{{- define "sluice.settings" -}}
{{- $kafka := .Values.kafka -}}
KAFKA_BROKERS: {{ required "kafka.brokers is required: host:port, separated by commas" $kafka.brokers | quote }}
{{- with .Values.schemaRegistry.url }}
SCHEMA_REGISTRY_URL: {{ . | quote }}
{{- end }}
{{- if .Values.schemaRegistry.useKafkaCa }}
{{- $_ := required "kafka.tls.caConfigMap is required if schemaRegistry.useKafkaCa is true" $kafka.tls.caConfigMap }}
{{- if .Values.schemaRegistry.caConfigMap }}{{ fail "schemaRegistry: set either useKafkaCa or caConfigMap" }}{{ end }}
SCHEMA_REGISTRY_CA: /etc/sluice/kafka/{{ $kafka.tls.caKey }}
{{- else if .Values.schemaRegistry.caConfigMap }}
SCHEMA_REGISTRY_CA: /etc/sluice/registry/{{ .Values.schemaRegistry.caKey }}
{{- end }}
{{- if $kafka.tls.enabled }}
KAFKA_SSL: "true"
{{- with $kafka.tls.caConfigMap }}
KAFKA_SSL_CA: /etc/sluice/kafka/{{ $kafka.tls.caKey }}
{{- end }}
{{- with $kafka.tls.clientSecret }}
KAFKA_SSL_CERT: /etc/sluice/client/tls.crt
KAFKA_SSL_KEY: /etc/sluice/client/tls.key
{{- end }}
{{- end }}
{{- with $kafka.sasl.mechanism }}
KAFKA_SASL_MECHANISM: {{ . | quote }}
{{- end }}
{{- with .Values.topics.prefix }}
TOPIC_PREFIX: {{ . | quote }}
{{- end }}
{{- if .Values.egress.caConfigMap }}
EGRESS_CA: /etc/sluice/egress/{{ .Values.egress.caKey }}
{{- end }}
PARTITIONS: {{ .Values.topics.partitions | quote }}
REPLICATION: {{ .Values.topics.replication | quote }}
{{- range $name, $value := .Values.settings }}
{{- /* Helm reads numbers as floats, and would print 33554432 as 3.3554432e+07 */}}
{{- if kindIs "float64" $value }}
{{- if eq $value (floor $value) }}{{ $value = int64 $value }}{{ end }}
{{- end }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end }}
