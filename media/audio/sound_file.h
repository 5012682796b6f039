/**
 * Sound files of open descriptors, for libsndfile. sf_open_fd() of libsndfile 1.2.0
 * closes a descriptor that it shall leave open, if it cannot read the file: whoever
 * closes it then closes another file, which a thread has opened in between.
 * Thread: any; reads and writes files.
 */
#ifndef OFFHOOK_MEDIA_AUDIO_SOUND_FILE_H
#define OFFHOOK_MEDIA_AUDIO_SOUND_FILE_H

#include <sndfile.h>

/**
 * Open a sound file. The descriptor stays open when the file is closed.
 * @param fd    of a regular file; borrowed until sf_close()
 * @param mode  SFM_READ or SFM_WRITE
 * @param info  as for sf_open()
 * @return sf_close(); NULL: as sf_open()
 */
SNDFILE *sound_file_open(const int *fd, int mode, SF_INFO *info);

#endif
