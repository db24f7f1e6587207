import { keychainItem } from './keychain-item.ts'
import { type KeychainAnswer, type KeychainRequest, parseKeychainRequest } from './keychain-request.ts'

// A program of its own: whatever the keychain does, hang, block or crash, its parent can end it. One request on standard
// input, so that no key is ever an argument that every user of the computer can read; one answer on standard output.

async function answer(request: KeychainRequest | undefined): Promise<KeychainAnswer> {
  if (request === undefined) return { kind: 'failed', message: 'no request' }
  try {
    return { kind: 'done', value: await perform(request) }
  } catch (error) {
    return { kind: 'failed', message: String(error) }
  }
}

async function perform(request: KeychainRequest): Promise<string | null> {
  const item = await keychainItem(request.account)
  switch (request.operation) {
    case 'read':
      return await item.getPassword()
    case 'remove':
      return String(await item.deletePassword())
    case 'write':
      await item.setPassword(request.value)
      // A keychain that takes an item and does not give it back is none.
      if ((await item.getPassword()) !== request.value) throw new Error('what was written cannot be read')
      return null
    case 'probe':
      await item.setPassword('probe')
      if ((await item.getPassword()) !== 'probe') throw new Error('what was written cannot be read')
      await item.deletePassword()
      return null
  }
}

let text = ''
process.stdin.setEncoding('utf8')
for await (const chunk of process.stdin) text += String(chunk)
process.stdout.write(JSON.stringify(await answer(parseKeychainRequest(text))))
