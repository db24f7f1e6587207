import { json } from './answer.ts'
import type { Endpoint } from './endpoint.ts'

/** Answers whether each thing a request needs is there; a name maps to a check that rejects when it is not. */
export type ReadinessChecks = Readonly<Record<string, () => Promise<unknown>>>

/** `/healthz`: the process answers. `/readyz`: the checks hold; 503 names the ones that do not. */
export function createHealthEndpoints(basePath: string, checks: ReadinessChecks): Endpoint[] {
  return [
    {
      path: `${basePath}/healthz`,
      cors: 'none',
      anyHost: true,
      methods: { GET: () => json({ status: 'ok' }) },
    },
    {
      path: `${basePath}/readyz`,
      cors: 'none',
      anyHost: true,
      methods: {
        async GET() {
          const results = await Promise.all(
            Object.entries(checks).map(async ([name, check]) => {
              const ok = await check().then(
                () => true,
                () => false,
              )
              return [name, ok ? 'ok' : 'failed'] as const
            }),
          )
          const ready = results.every(([, state]) => state === 'ok')
          return json(
            { status: ready ? 'ok' : 'unavailable', checks: Object.fromEntries(results) },
            ready ? 200 : 503,
          )
        },
      },
    },
  ]
}
