{{- define "carrier-identity.fullname" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- $name | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- /* Labels that select the pods of a release. They cannot be changed after the installation. */}}
{{- define "carrier-identity.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "carrier-identity.labels" -}}
{{ include "carrier-identity.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "carrier-identity.meta" -}}
name: {{ include "carrier-identity.fullname" . }}
namespace: {{ .Release.Namespace }}
labels:
  {{- include "carrier-identity.labels" . | nindent 2 }}
{{- end }}

{{- /* Fields of every pod: it runs as the user `node` of the image, and has no token of the cluster. */}}
{{- define "carrier-identity.pod" -}}
automountServiceAccountToken: false
# The service would report the variables of other Services as misspelled settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
volumes:
  # Mails without SMTP_URL. They are lost with the pod.
  - name: data
    emptyDir: { sizeLimit: 100Mi }
  - name: secrets
    projected:
      # Readable by fsGroup.
      defaultMode: 0440
      sources:
        {{- range $setting, $ref := .Values.secrets }}
        - secret:
            name: {{ $ref.name }}
            items: [{ key: {{ $ref.key | quote }}, path: {{ $setting }} }]
        {{- end }}
  {{- with .Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* Fields of every container. */}}
{{- define "carrier-identity.container" -}}
{{- with .Values.image -}}
image: {{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
imagePullPolicy: {{ .pullPolicy }}
{{- end }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
env:
  {{- range $setting, $value := .Values.config }}
  - name: {{ $setting }}
    {{- /* toJson, because Helm would print a large number as 2.592e+06. */}}
    value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
  {{- end }}
  {{- range $setting, $ref := .Values.secrets }}
  - name: {{ $setting }}_FILE
    value: /run/secrets/carrier-identity/{{ $setting }}
  {{- end }}
  {{- if .Values.metrics.enabled }}
  - name: METRICS_PORT
    value: {{ .Values.metrics.port | quote }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
volumeMounts:
  - { name: data, mountPath: /data }
  - { name: secrets, mountPath: /run/secrets/carrier-identity, readOnly: true }
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
