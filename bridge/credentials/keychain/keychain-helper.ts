import { type KeychainAnswer, type KeychainOperation, performOnKeychain } from './keychain-operation.ts'

// A separate program, so that its parent can end it if the keychain hangs, blocks or crashes. Reads one operation from
// standard input, so that no key is an argument visible to other users, and writes one answer to standard output.

let text = ''
process.stdin.setEncoding('utf8')
for await (const chunk of process.stdin) text += String(chunk)
const answer: KeychainAnswer = await performOnKeychain(JSON.parse(text) as KeychainOperation).then(
  (value) => ({ kind: 'done', value }),
  (error: unknown) => ({ kind: 'failed', message: String(error) }),
)
process.stdout.write(JSON.stringify(answer))
