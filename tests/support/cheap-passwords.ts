import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'

/*
 * The embedded provider derives a key for every account and every sign-in, which takes a processor 50 ms each time: by design, and
 * more than most tests need for all the rest. Here it costs next to nothing; nobody attacks these passwords.
 */
const { scrypt } = crypto

function cheapScrypt(
  password: crypto.BinaryLike,
  salt: crypto.BinaryLike,
  length: number,
  callback: (error: Error | null, key: Buffer) => void,
): void {
  scrypt(password, salt, length, { cost: 2 }, callback)
}

// Files can share a worker.
if (scrypt.name !== cheapScrypt.name) {
  Object.assign(crypto, { scrypt: cheapScrypt })
  syncBuiltinESMExports()
}
