import { readJsonText } from '@drawbridge/shared/json-text.ts'
import { type AccessReading, readAccessDocument } from '../core/access/access-document.ts'
import { toolScope } from '../core/tokens/scope.ts'
import { readSettingFile } from './setting-file-text.ts'

/** The rules of the file that ACCESS names, or its faults. Each fault names the file. Never throws. */
export function readAccessFile(path: string): AccessReading {
  const file = readSettingFile(path)
  return file.kind === 'text' ? readAccessText(file.text, path) : { kind: 'faulty', faults: [file.fault] }
}

/** The same of the text of the file at `path`. */
export function readAccessText(text: string, path: string): AccessReading {
  const json = readJsonText(text)
  if (json.kind === 'invalid') return { kind: 'faulty', faults: [`${path} is not valid JSON${json.place}.`] }
  const reading = readAccessDocument(json.value, toolScope)
  return reading.kind === 'rules'
    ? reading
    : { kind: 'faulty', faults: reading.faults.map((fault) => `${path}: ${fault}`) }
}
