import { useState } from 'react'
import { type Kind, useLatestUpload, usePreview, useUpload } from '../../api/computations.ts'
import {
  type Allowance,
  FORMATS,
  type Format,
  formatOf,
  looksLikeFields,
  requiredBy,
  startOf,
} from './upload-rules.ts'

/** Uploads exactly the previewed content. */
export function useUploading(kind: Kind, id: string, content: { text: string; file: File | null }) {
  const [format, setFormat] = useState<Format>('lines')
  const [isDoubtful, setDoubtful] = useState(false)
  const [progress, setProgress] = useState<number>()
  const [isNew, setNew] = useState(true)
  const [allowed, setAllowed] = useState<readonly Allowance[]>([])
  const preview = usePreview(kind, id)
  const { own, upload } = useShownUpload(kind, id, isNew)
  const blob = content.file ?? new Blob([content.text])
  const required = requiredBy(preview.data)

  function startOver() {
    setNew(false)
    setAllowed([])
    preview.reset()
    own.reset()
  }

  async function startPreview() {
    startOver()
    setProgress(0)
    const start = await startOf(blob)
    const found = formatOf(kind, start, content.file?.name)
    setFormat(found)
    setDoubtful(looksLikeFields(found, start))
    preview.mutate({ content: blob, type: FORMATS[found].type, onProgress: setProgress })
  }

  function startUpload() {
    setProgress(0)
    const request = {
      content: blob,
      type: FORMATS[format].type,
      allowances: required,
      onProgress: setProgress,
    }
    own.mutate(request, {
      // each consent counts once; the next upload is compared with this one
      onSettled() {
        setAllowed([])
        preview.reset()
      },
    })
  }

  const isReady = preview.data !== undefined && required.every((each) => allowed.includes(each))
  const isPending = preview.isPending || upload.isPending
  const state = { format, isDoubtful, progress, allowed, required, preview, upload, isReady, isPending }
  return { ...state, setAllowed, startOver, startPreview, startUpload }
}

/** @returns `upload`: the one of this dialog, or one that an earlier dialog started. */
function useShownUpload(kind: Kind, id: string, isNew: boolean) {
  const own = useUpload(kind, id)
  const latest = useLatestUpload(kind, id)
  return { own, upload: isNew && own.isIdle && latest ? latest : own }
}

export type Uploading = ReturnType<typeof useUploading>
