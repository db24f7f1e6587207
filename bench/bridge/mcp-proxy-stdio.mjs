// argv: the entry of mcp-proxy, the URL of the server.
import { pathToFileURL } from 'node:url'

const [, , entry = '', url = ''] = process.argv
const { startStdioServer } = await import(pathToFileURL(entry).href)
await startStdioServer({ serverType: 'HTTPStream', url })
