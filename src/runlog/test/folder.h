/* A temporary folder for tests of the writer and the segment reader. thread: any */
#pragma once

int folder_make(char ret_path[64]);               /* an open descriptor of a fresh folder */
void folder_remove(int dir_fd, const char *path); /* with all files in it; closes dir_fd */
