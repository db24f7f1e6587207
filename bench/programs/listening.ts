import { createServer, type RequestListener } from 'node:http'

/** Serves on a free port of this machine until SIGTERM. Returns the port; call {@link ready} when all is prepared. */
export async function listening(listener: RequestListener): Promise<number> {
  const server = createServer({ keepAliveTimeout: 65_000 }, listener)
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  process.once('SIGTERM', () => {
    server.close(() => process.exit(0))
    server.closeAllConnections()
  })
  const address = server.address()
  return typeof address === 'object' && address !== null ? address.port : 0
}

/** Tells the bench that this program is ready. */
export function ready(facts: object): void {
  process.stdout.write(`${JSON.stringify({ event: 'ready', ...facts })}\n`)
}
