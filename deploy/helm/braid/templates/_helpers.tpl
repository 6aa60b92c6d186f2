{{/* The name of every object: the release, with the chart if the release does not say it. */}}
{{- define "braid.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "braid.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "braid.labels" -}}
{{ include "braid.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* Names that requests may be addressed to: the Service's, and the operator's. */}}
{{- define "braid.allowedHosts" -}}
{{- $name := include "braid.fullname" . -}}
{{- $ns := .Release.Namespace -}}
{{- $own := list $name (printf "%s.%s" $name $ns) (printf "%s.%s.svc" $name $ns) (printf "%s.%s.svc.cluster.local" $name $ns) -}}
{{- concat $own .Values.allowedHosts | join "," -}}
{{- end -}}

{{/* A pod of one process. Takes root, component (server or worker) and command. */}}
{{- define "braid.pod" -}}
{{- $root := .root -}}
{{- $values := $root.Values -}}
{{- $process := index $values .component -}}
metadata:
  labels:
    {{- include "braid.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
  annotations:
    # A changed setting starts new pods.
    checksum/config: {{ toYaml $values.config | sha256sum }}
    {{- with $values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "braid.fullname" $root }}
  automountServiceAccountToken: false
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ $values.terminationGracePeriodSeconds }}
  {{- with $values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile:
      type: RuntimeDefault
  {{- with $values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "braid.selector" $root | nindent 10 }}
          app.kubernetes.io/component: {{ .component }}
  containers:
    - name: braid
      image: {{ printf "%s:%s" $values.image.repository ($values.image.tag | default $root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $values.image.pullPolicy }}
      args: [{{ .command }}]
      env:
        - name: BRAID_CONFIG
          value: /etc/braid/braid.yaml
        - name: BRAID_ALLOWED_HOSTS
          value: {{ include "braid.allowedHosts" $root | quote }}
        {{- if eq $values.mode "cassandra" }}
        - name: BRAID_ENGINE
          value: cassandra
        - name: BRAID_CASSANDRA_CONTACT_POINTS
          value: {{ join "," $values.cassandra.contactPoints | quote }}
        - name: BRAID_CASSANDRA_DATACENTER
          value: {{ $values.cassandra.datacenter | quote }}
        - name: BRAID_CASSANDRA_REPLICATION
          value: {{ $values.cassandra.replication | quote }}
        - name: BRAID_CASSANDRA_KEYSPACE
          value: {{ $values.cassandra.keyspace | quote }}
        {{- with $values.cassandra.existingSecret }}
        - name: BRAID_CASSANDRA_USERNAME
          valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: username } }
        - name: BRAID_CASSANDRA_PASSWORD
          valueFrom: { secretKeyRef: { name: {{ . | quote }}, key: password } }
        {{- end }}
        - name: BRAID_QUEUE
          value: kafka
        - name: BRAID_KAFKA_BROKERS
          value: {{ join "," $values.kafka.brokers | quote }}
        - name: BRAID_KAFKA_PREFIX
          value: {{ $values.kafka.prefix | quote }}
        {{- end }}
        {{- if eq .component "worker" }}
        # As bin/braid sets them for a worker.
        - name: MALLOC_ARENA_MAX
          value: "2"
        - name: MALLOC_TRIM_THRESHOLD_
          value: "131072"
        {{- end }}
        {{- with $values.env }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - name: http
          containerPort: 8420
      # The first start verifies what the disk has.
      startupProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 5
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: http }
        periodSeconds: 10
        timeoutSeconds: 5
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http }
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      lifecycle:
        preStop:
          sleep:
            seconds: {{ $values.preStopSleepSeconds }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      resources:
        {{- toYaml $process.resources | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/braid
          readOnly: true
        - name: tmp
          mountPath: /tmp
        - name: data
          mountPath: /var/lib/braid
  volumes:
    - name: config
      configMap:
        name: {{ include "braid.fullname" $root }}
    - name: tmp
      emptyDir:
        sizeLimit: 64Mi
    {{- if eq $values.mode "cassandra" }}
    # On Cassandra nothing is written here.
    - name: data
      emptyDir:
        sizeLimit: 64Mi
    {{- end }}
{{- end -}}
