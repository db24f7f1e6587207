import type { AnyStep } from '@drawbridge/shared/mcp/pipeline.ts'

/** The spans of the bridge. */
export interface Tracing {
  /** Makes the SERVER span of a message of the client, which gets its context. */
  readonly fromClient: AnyStep
  /** Makes the CLIENT span of the request that carries a message to the server. */
  readonly toServer: AnyStep
  /** Sends what is left, for half a second at most. */
  close(): Promise<void>
}

/** Opens it if `OTEL_EXPORTER_OTLP_ENDPOINT` names a collector; opentelemetry-js reads all other variables itself. */
export async function openTracing(
  environment: Readonly<Record<string, string | undefined>>,
  note: (text: string) => void,
): Promise<Tracing | undefined> {
  if (!environment['OTEL_EXPORTER_OTLP_ENDPOINT'] || environment['OTEL_SDK_DISABLED'] === 'true')
    return undefined
  const { createTracing } = await import('./open-tracing.ts')
  return createTracing(note)
}
