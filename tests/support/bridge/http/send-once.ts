import { createHttpClient } from '../../../../bridge/http/undici-client.ts'
import { readBody } from '../../../../bridge/http/read-body.ts'
import type { NetworkConfig } from '../../../../bridge/http/network-config.ts'

// For tests of what a process is started with: `node send-once.ts URL CONFIG`. Writes what came of it to stderr, since
// stdout is not for the bridge.
const [, , url = '', config = ''] = process.argv
const client = createHttpClient(JSON.parse(config) as NetworkConfig)
try {
  const response = await client.send({ method: 'GET', url, headers: {} })
  process.stderr.write(`answer ${response.status} ${(await readBody(response, 1000)).toString()}`)
} catch (error) {
  process.stderr.write(
    `failed ${error instanceof Error && 'fault' in error ? String(error.fault) : ''} ${String(error)}`,
  )
}
client.close()
