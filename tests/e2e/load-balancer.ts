import { createServer, request, type Server } from 'node:http'
import { freePort } from '../support/server/free-port.ts'

/** A load balancer without stickiness: each request goes to the next target. */
export interface LoadBalancer {
  url: string
  /** Origins to send to; may change at any time. */
  targets: string[]
  /** Number of requests per target. */
  sent: ReadonlyMap<string, number>
  close(): Promise<void>
}

/** Starts a {@link LoadBalancer} on a free port. A target that does not respond results in 502. */
export async function startLoadBalancer(): Promise<LoadBalancer> {
  const port = await freePort()
  const sent = new Map<string, number>()
  let turn = 0
  const server: Server = createServer((incoming, outgoing) => {
    const target = balancer.targets[turn++ % balancer.targets.length] ?? ''
    sent.set(target, (sent.get(target) ?? 0) + 1)
    const onward = request(
      new URL(incoming.url ?? '/', target),
      // The Host stays the public one, which the instances expect.
      { method: incoming.method ?? 'GET', headers: incoming.headers },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      },
    )
    onward.on('error', () => {
      if (!outgoing.headersSent) outgoing.writeHead(502)
      outgoing.end()
    })
    incoming.pipe(onward)
  })
  const balancer: LoadBalancer = {
    url: `http://localhost:${port}`,
    targets: [],
    sent,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  await new Promise<void>((resolve) => {
    server.listen(port, '127.0.0.1', resolve)
  })
  return balancer
}
