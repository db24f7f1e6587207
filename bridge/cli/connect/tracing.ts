import type { Tracing } from './open-tracing.ts'

/** Opens the {@link Tracing} if `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector; opentelemetry-js reads all other variables itself. */
export async function openTracing(
  environment: Readonly<Record<string, string | undefined>>,
  note: (text: string) => void,
): Promise<Tracing | undefined> {
  if (!environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment['OTEL_SDK_DISABLED'] === 'true')
    return undefined
  const { createTracing } = await import('./open-tracing.ts')
  return createTracing(note)
}
