// argv: the entry of mcp-proxy, the URL of the server. BENCH_TOKEN: a token to send.
import { pathToFileURL } from 'node:url'

const [, , entry = '', url = ''] = process.argv
const token = process.env.BENCH_TOKEN
const { startStdioServer } = await import(pathToFileURL(entry).href)
await startStdioServer({
  serverType: 'HTTPStream',
  url,
  ...(token !== undefined && {
    transportOptions: { requestInit: { headers: { Authorization: `Bearer ${token}` } } },
  }),
})
