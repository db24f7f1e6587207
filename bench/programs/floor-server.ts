// The floor: the cost of the same requests on node:http alone, without any of the rules. Repeats answers of Drawbridge,
// so that the same number of bytes is sent.
import { randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { listening, ready } from './listening.ts'

const { BENCH_METADATA: metadata = '{}', BENCH_TOOLS_LIST: toolsList = '{}' } = process.env
const accessToken = `mcpa_${randomBytes(32).toString('base64url')}`
const accessTokens = new Map([[accessToken, 'grant']])

const port = await listening((request, response) => {
  if (request.method === 'GET') {
    answer(response, 200, metadata)
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const token = request.headers.authorization?.slice('Bearer '.length) ?? ''
    const { method } = JSON.parse(Buffer.concat(chunks).toString()) as { method?: string }
    const isKnown = accessTokens.has(token) && method === 'tools/list'
    answer(response, isKnown ? 200 : 401, isKnown ? toolsList : '{}')
  })
})
ready({ port, accessToken })

function answer(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(body),
  })
  response.end(body)
}
