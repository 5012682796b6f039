/**
 * Defines SANITIZED_ADDRESS or SANITIZED_THREAD if the program is built with
 * that sanitizer.
 */
#ifndef OFFHOOK_BASE_SANITIZER_H
#define OFFHOOK_BASE_SANITIZER_H

#ifdef __has_feature /* clang */
#if __has_feature(address_sanitizer)
#define SANITIZED_ADDRESS
#endif
#if __has_feature(thread_sanitizer)
#define SANITIZED_THREAD
#endif
#endif
#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define SANITIZED_ADDRESS
#endif
#ifdef __SANITIZE_THREAD__
#define SANITIZED_THREAD
#endif

#endif
