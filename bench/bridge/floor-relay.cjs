// The smallest possible bridge, as a lower bound: every line on stdin is a POST, every answer a line on stdout. No
// session, no stream, no sign-in, no error handling. argv: the URL of the server.
// CommonJS with require: importing node:http reads all its exports, which on newer Nodes loads all of fetch.
const { Agent, request } = require('node:http')

const url = process.argv[2]
const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
let rest = ''

process.stdin.setEncoding('utf8')
process.stdin.on('data', (text) => {
  const lines = (rest + text).split('\n')
  rest = lines.pop()
  for (const line of lines) post(line)
})
process.stdin.on('end', () => process.exit(0))

function post(line) {
  const sent = request(url, { method: 'POST', agent, headers }, (response) => {
    const chunks = []
    response.on('data', (chunk) => chunks.push(chunk))
    response.on('end', () => {
      if (chunks.length === 0) return
      for (const chunk of chunks) process.stdout.write(chunk)
      process.stdout.write('\n')
    })
  })
  sent.end(line)
}
