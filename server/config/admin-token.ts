import { parseAdminToken, sharedFileFault } from '../store/admin-token-file.ts'
import { readSettingFile } from './document-file.ts'

/** Returns the fault of the token's file and the next step, if any. The token is in neither sentence. */
export function adminTokenFault(path: string): { problem: string; nextStep: string } | undefined {
  const make = `Make it with: umask 077; openssl rand -base64 32 > ${path}`
  const file = readSettingFile(path)
  if (file.kind === 'unreadable') return { problem: file.fault, nextStep: make }
  const shared = sharedFileFault(path)
  if (shared !== undefined) return { problem: shared, nextStep: `chmod 600 ${path}` }
  try {
    parseAdminToken(file.text)
    return undefined
  } catch (error) {
    return { problem: `${path} holds no token: ${(error as Error).message}.`, nextStep: make }
  }
}
