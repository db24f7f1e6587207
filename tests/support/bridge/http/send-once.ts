import { createHttpClient } from '../../../../bridge/http/undici-client.ts'
import { readBody, type NetworkConfig } from '../../../../bridge/http/http-client.ts'

// For tests of what a process is started with: `node send-once.ts URL CONFIG`. Writes the result to stderr, since the
// bridge does not use stdout.
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
