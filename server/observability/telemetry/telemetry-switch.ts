import type { ReportFailure, Telemetry } from './telemetry.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the fault of the variable that switches it on. */
export function telemetryProblems({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }: Environment): string[] {
  if (!endpoint || /^https?:$/.test(URL.parse(endpoint)?.protocol ?? '')) return []
  return ['OTEL_EXPORTER_OTLP_ENDPOINT: expected the http or https URL of an OpenTelemetry collector.']
}

/**
 * Opens the {@link Telemetry} if `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector; only then loads opentelemetry-js, which reads all
 * other variables itself.
 */
export async function openTelemetry(
  environment: Environment,
  program: { version: string; store: string },
  report: ReportFailure,
): Promise<Telemetry | undefined> {
  const isOn = environment['OTEL_EXPORTER_OTLP_ENDPOINT'] && environment['OTEL_SDK_DISABLED'] !== 'true'
  if (!isOn) return undefined
  const { createTelemetry } = await import('./open-telemetry.ts')
  return createTelemetry(program, report)
}
